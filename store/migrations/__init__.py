"""What a new store is made of, and one file for each later revision of it; shipped with the package."""
