package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"nearfar/internal/measure/recordings"
)

// armFlag is one --arm: NAME for the FILE arguments, or NAME=FILE.
type armFlag struct{ name, path string }

// parseArmFlag reads NAME or NAME=FILE. The path is everything after the first "=".
func parseArmFlag(text string) (armFlag, error) {
	name, path, with := strings.Cut(text, "=")
	switch {
	case with && name == "":
		return armFlag{}, fmt.Errorf("--arm %q names no arm: write --arm NAME=FILE", text)
	case with && path == "":
		return armFlag{}, fmt.Errorf("--arm %q names no file: write --arm NAME=FILE", text)
	}
	return armFlag{name, path}, nil
}

// parseArms reads the --arm flags. Each arm may be named only once, so that a typing mistake does not merge two arms.
func parseArms(texts []string) ([]armFlag, error) {
	var arms []armFlag
	for _, text := range texts {
		arm, err := parseArmFlag(text)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(arms, func(a armFlag) bool { return a.name == arm.name }) {
			return nil, fmt.Errorf("--arm %q is given twice: put the files of an arm into one directory, "+
				"and write --arm NAME=DIRECTORY", arm.name)
		}
		arms = append(arms, arm)
	}
	return arms, nil
}

// sources lists the files of the FILE arguments and the --arm flags. The FILE arguments belong to the arm without a
// path. Paths may be directories.
func sources(arms []armFlag, files []string) ([]recordings.Recording, error) {
	var all []recordings.Recording
	plain := -1
	for i, arm := range arms {
		switch {
		case arm.path != "":
			all = append(all, recordings.Recording{Arm: arm.name, File: arm.path})
		case plain >= 0:
			return nil, fmt.Errorf("the FILE arguments cannot belong to two arms, %q and %q: write --arm NAME=FILE",
				arms[plain].name, arm.name)
		case len(files) == 0:
			return nil, fmt.Errorf("--arm %q has no file: write --arm NAME=FILE, or name a FILE", arm.name)
		default:
			plain = i
			all = append(all, ofArm(arm.name, files)...)
		}
	}
	if plain < 0 {
		all = append(all, ofArm("", files)...)
	}
	if len(all) == 0 {
		return nil, errors.New("no file is named: write nearfar import FILE..., or --arm NAME=FILE\n" +
			"See 'nearfar import --help'")
	}
	return all, nil
}

func ofArm(arm string, files []string) []recordings.Recording {
	var all []recordings.Recording
	for _, file := range files {
		all = append(all, recordings.Recording{Arm: arm, File: file})
	}
	return all
}
