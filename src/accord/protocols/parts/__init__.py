"""What protocols are made of: slots, schedule, journal, records that are disclosed, what stands already."""
