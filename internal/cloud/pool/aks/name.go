package aks

import (
	"fmt"
	"strconv"
	"strings"

	"nearfar/internal/base/lazyregexp"
)

const windows = "Windows"

// longest is the greatest length of a pool's name. Source: Azure's documentation, "Create node pools for a cluster in
// Azure Kubernetes Service (AKS)", Limitations.
func longest(osType string) int {
	if osType == windows {
		return 6
	}
	return 12
}

var poolName = lazyregexp.New(`^[a-z][a-z0-9]*$`)

// CheckName says what is wrong with the name of a pool. If the system of the pool is unknown, the limits for Linux
// apply.
func CheckName(name, osType string) error {
	most := longest(osType)
	if !poolName.MatchString(name) || len(name) > most {
		return fmt.Errorf("a node pool cannot have the name %q: it begins with a letter and has lower-case letters "+
			"and digits, %d at most", name, most)
	}
	return nil
}

// NextName makes the name of a new pool from the old one's: linpool becomes linpool2, linpool2 becomes linpool3. It
// fails if all such names are taken.
func NextName(old, osType string, taken func(string) bool) (string, error) {
	base := strings.TrimRight(old, "0123456789")
	n, err := strconv.Atoi(old[len(base):])
	if err != nil || n > 9999 {
		n = 1 // without a number, or with one that counts nothing
	}
	for i := n + 1; i <= n+100; i++ {
		digits := strconv.Itoa(i)
		name := base[:min(len(base), longest(osType)-len(digits))] + digits
		if CheckName(name, osType) == nil && !taken(name) {
			return name, nil
		}
	}
	return "", fmt.Errorf("no name follows %s: give one with --new", old)
}
