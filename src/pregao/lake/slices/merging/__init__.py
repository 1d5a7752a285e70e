"""The merge of feeds A and B."""
