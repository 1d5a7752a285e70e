"""What the systems over FIX sessions share: no system of its own, and it knows none of them."""
