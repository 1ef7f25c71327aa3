// What decisions cost, where the page carries samples.
