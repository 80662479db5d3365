"""What every other package uses: errors, seeds, devices, facts about the machine."""
