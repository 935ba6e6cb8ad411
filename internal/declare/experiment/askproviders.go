package experiment

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"nearfar/internal/declare/check"
)

func providerWords() []string { return []string{check.CloudAWS, check.CloudAzure, check.CloudGCP} }

// askProviders reads the clouds whose providers are asked where they placed the hosts. A lab is in no cloud.
func (r *reader) askProviders(f fields, e *Experiment) (clouds []string) {
	v, ok := r.optional(f, "ask_providers")
	if !ok || !r.isSequence(v.value, "ask_providers", "[azure]") {
		return nil
	}
	if len(v.value.Content) == 0 {
		r.wrong(v.value, "write, for example, ask_providers: [azure], or leave the key out", "ask_providers is empty")
	}
	for _, n := range v.value.Content {
		cloud, ok := r.word(n, "value of ask_providers", providerWords())
		switch {
		case !ok:
		case slices.Contains(clouds, cloud):
			r.wrong(n, "keep one of them", "ask_providers names %s twice", cloud)
		default:
			clouds = append(clouds, cloud)
		}
	}
	if len(e.Arms) > 0 && !slices.ContainsFunc(e.Arms, func(a Arm) bool { return a.Lab == nil }) {
		r.wrong(v.key, "leave it out", "ask_providers: all arms are labs, which are in no cloud")
	}
	return clouds
}

// checkProviders checks the clouds of an experiment that was read from a run directory.
func (e *Experiment) checkProviders() error {
	if len(e.AskProviders) > len(providerWords()) {
		return errors.New("ask_providers names too many providers")
	}
	for _, cloud := range e.AskProviders {
		if !slices.Contains(providerWords(), cloud) {
			return fmt.Errorf("ask_providers names %s; %s", quote(cloud), strings.Join(providerWords(), ", "))
		}
	}
	return nil
}
