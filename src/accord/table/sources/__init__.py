"""Tables as batches of Arrow: from files, databases and Python."""
