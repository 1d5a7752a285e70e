"""The long proofs: `make proof` runs them at length, `make test` a slice of each."""
