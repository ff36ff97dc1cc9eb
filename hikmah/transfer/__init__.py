"""Import and export: how memories come from elsewhere, and how they leave."""
