"""Price levels at an instant."""
