"""The house check: each module holds checks of one kind; tools/check_house runs them."""
