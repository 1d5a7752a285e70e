"""Who runs tasks, and what their processes do with memory: below all that is run."""
