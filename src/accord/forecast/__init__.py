"""What a run will take on this machine: `plan`, time, disk and memory, before anybody is called."""
