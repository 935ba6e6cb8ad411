package experiment

import (
	"slices"

	"nearfar/internal/declare/check"
)

func providerWords() []string { return []string{check.CloudAWS, check.CloudAzure, check.CloudGCP} }

// askProviders reads the clouds whose providers are asked where they placed the hosts.
func (r *reader) askProviders(f fields) (clouds []string) {
	v, ok := r.optional(f, "ask_providers")
	if !ok || !r.isSequence(v.value, "ask_providers", "[azure]") {
		return nil
	}
	for _, n := range v.value.Content {
		clouds = append(clouds, r.scalar(n, "value of ask_providers", providerWords()[0]))
	}
	return clouds
}

// checkProviders checks the clouds whose providers are asked. A lab is in no cloud.
func (e *Experiment) checkProviders(c *checker) {
	const key = "ask_providers"
	if len(e.AskProviders) == 0 && !c.given(key) {
		return
	}
	if len(e.AskProviders) == 0 {
		c.wrong(value(key), "write, for example, ask_providers: [azure], or leave the key out", "ask_providers is empty")
	}
	for i, cloud := range e.AskProviders {
		at := value(key, item(i))
		if c.word(at, "value of ask_providers", cloud, providerWords()) && slices.Contains(e.AskProviders[:i], cloud) {
			c.wrong(at, "keep one of them", "ask_providers names %s twice", cloud)
		}
	}
	if c.strict && len(e.Arms) > 0 && !slices.ContainsFunc(e.Arms, func(a Arm) bool { return a.Lab == nil }) {
		c.wrong(atKey(key), "leave it out", "ask_providers: all arms are labs, which are in no cloud")
	}
}
