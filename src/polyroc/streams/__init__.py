"""More samples than fit in memory: counts that are added batch by batch, file by file, machine by machine."""
