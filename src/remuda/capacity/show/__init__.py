"""What people and programs see of an audit and a plan."""
