package check

import "testing"

func TestAcceleratedDevices(t *testing.T) {
	for name, want := range map[string]Outcome{
		"azure-mlx5": Proved, "azure-mana": Proved, "azure-no-vf": Refuted, "aws-ena": Unknown,
		"gcp-gvnic": Unknown,
	} {
		s, _ := readRecorded(t, name)
		f := s.Read(Options{})
		if got, evidence := f.AcceleratedDevices(); got != want || evidence == "" {
			t.Errorf("%s: %s (%s), want %s", name, got, evidence, want)
		}
	}
}
