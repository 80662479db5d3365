"""What every other room stands on: errors, seeds, devices, facts about the machine."""
