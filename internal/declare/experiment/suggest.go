package experiment

// Suggest gives a hint for an unknown word: the known word with the most similar spelling, or all known words.
func Suggest(word string, known []string) string { return suggest(word, known) }

// Nearest gives the known word with the most similar spelling, or "" if none is similar.
func Nearest(word string, known []string) string { return nearest(word, known) }
