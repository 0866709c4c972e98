"""The manual as a site: pages of `docs/`, a reference made from the code, and what is drawn for both."""
