"""How the tables came to be: one file for each revision, shipped with the package."""
