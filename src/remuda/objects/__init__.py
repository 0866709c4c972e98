"""
Configuration objects: what a person writes, read into typed values with every problem found at once.

`tree` reads YAML with positions, `convert` turns it into the types of a kind, `load` joins the two over files;
`schema` and `explain` describe the same types. The file form is the form of a custom resource.
"""
