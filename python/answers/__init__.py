"""One module per family of outside answers; every public function is a question that oracle.py can be asked."""
