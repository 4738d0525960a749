"""What can be set, and what the product says about causes."""
