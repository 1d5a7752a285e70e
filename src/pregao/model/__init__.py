"""What a market and its data are. Imports nothing of ours."""
