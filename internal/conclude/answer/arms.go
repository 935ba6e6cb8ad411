package answer

import "nearfar/internal/declare/experiment"

// settingsOf says what the arms are: all paths, unless they are the same, and what the arms set.
func settingsOf(e *experiment.Experiment) (all []Settings) {
	paths := e.PathsDiffer()
	for _, arm := range e.Arms {
		s := Settings{Arm: arm.Name, Text: e.SettingsText(arm.Name), Set: append([]experiment.Setting{}, arm.Set...)}
		if paths {
			s.Path = arm.PathText()
		}
		if s.Text != "" || s.Path != "" {
			all = append(all, s)
		}
	}
	return all
}
