"""What was found, as one HTML file to hand over. Pure functions of data: nothing is read or written here."""
