"""Looking after a lake: fewer files, and none that nobody needs."""
