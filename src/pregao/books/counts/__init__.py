"""What is counted of books, by kernel."""
