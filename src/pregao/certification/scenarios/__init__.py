"""The script, a file for each of its sections: `scenario_files` says how they are written."""
