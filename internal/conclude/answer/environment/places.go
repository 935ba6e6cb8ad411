package environment

import (
	"encoding/json"

	"nearfar/internal/declare/check"
)

// Hosts is the part of an answer about the hosts of the arms.
type Hosts struct {
	// Places are where the sides of the arms were observed.
	Places []ArmPlaces `json:"places,omitempty"`
	// ProviderAnswers are what the providers answered about the hosts, if the experiment has them asked.
	ProviderAnswers []ProviderAnswer `json:"provider_answers,omitempty"`
	// Differs lists the facts in which the hosts of an arm differ from those of the baseline.
	Differs []Differing `json:"differs,omitempty"`
}

// Seen reads what was seen of the hosts.
func Seen(in Run) Hosts {
	return Hosts{Places: places(in), ProviderAnswers: providerAnswers(in), Differs: hostsDiffering(in)}
}

// ArmPlaces are the places in which the sides of an arm were observed, without repetitions, in the order of the trials.
type ArmPlaces struct {
	Arm    string        `json:"arm"`
	Client []check.Place `json:"client"`
	Server []check.Place `json:"server"`
}

// maxPlaces bounds a list that grows with the number of trials.
const maxPlaces = 100

// places lists where the sides of each arm were observed in good trials.
func places(in Run) []ArmPlaces {
	var all []ArmPlaces
	for _, arm := range in.Experiment.Arms {
		p := ArmPlaces{Arm: arm.Name, Client: []check.Place{}, Server: []check.Place{}}
		seen := map[string]bool{}
		add := func(side string, to *[]check.Place, place *check.Place) {
			if place == nil || len(*to) >= maxPlaces {
				return
			}
			key, err := json.Marshal(place)
			if err != nil || seen[side+string(key)] {
				return
			}
			seen[side+string(key)] = true
			*to = append(*to, *place)
		}
		for _, t := range in.Trials {
			if t.Arm == arm.Name && t.Error == "" && t.Observed != nil {
				add("client ", &p.Client, t.Observed.Client)
				add("server ", &p.Server, t.Observed.Server)
			}
		}
		if len(p.Client)+len(p.Server) > 0 {
			all = append(all, p)
		}
	}
	return all
}
