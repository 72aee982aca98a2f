"""What people see of runs, verdicts and slices: tables, pictures, pages, files."""
