"""A review for people and programs: tables, a page with plots, a document, and what changed since the last."""
