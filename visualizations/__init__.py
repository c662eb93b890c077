"""What people see: figures, components, pages, lessons."""
