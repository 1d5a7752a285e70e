"""What tests of every kind share: rows, captures, lakes and processes made for a test. Kits test nothing."""
