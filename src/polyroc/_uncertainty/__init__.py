"""How sure it is: resamples, intervals, bands, paired differences."""
