"""`make mutants`: changes the code in one place at a time, and tells which changes no test notices."""
