package experiment

// Suggest says what somebody who wrote an unknown word may have meant: the known word that is spelled most like it, or else
// all known ones.
func Suggest(word string, known []string) string { return suggest(word, known) }

// Nearest is the known word that is spelled most like the given one, or "" where none is alike.
func Nearest(word string, known []string) string { return nearest(word, known) }
