package kube

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

// Print writes the objects and the roles that a run needs as YAML, as they could be given to `kubectl apply`.
func Print(w io.Writer, sets []*Set) error {
	for _, s := range sets {
		where := "in namespace " + s.Namespace
		if s.Made {
			where += ", which nearfar makes and deletes"
		}
		context := cmp.Or(s.Context, "(the current one)")
		fmt.Fprintf(w, "# Objects in context %s, %s\n", context, where)
		for _, why := range s.Why {
			fmt.Fprintf(w, "# %s: this needs the level %s of Pod Security\n", why, s.Level)
		}
		if err := printAll(w, s.Objects()); err != nil {
			return err
		}
		if err := s.printWatchers(w); err != nil {
			return err
		}
		fmt.Fprintf(w, "# Rights that the run needs in context %s\n", context)
		for _, r := range s.Rights() {
			if r.Optional {
				fmt.Fprintf(w, "# optional: %v (without it, %s stays unknown)\n", r, r.Without)
			}
		}
		if err := printAll(w, s.roles()); err != nil {
			return err
		}
	}
	return nil
}

func printAll(w io.Writer, objects []runtime.Object) error {
	for _, o := range objects {
		text, err := toYAML(o)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(w, "---\n%s", text); err != nil {
			return err
		}
	}
	return nil
}

// toYAML is an object without its status and without what is empty in every new object.
func toYAML(o runtime.Object) ([]byte, error) {
	text, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	var all map[string]any
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, err
	}
	delete(all, "status")
	if spec, ok := all["spec"].(map[string]any); ok && len(spec) == 0 {
		delete(all, "spec")
	}
	for _, part := range all {
		if m, ok := part.(map[string]any); ok {
			delete(m, "creationTimestamp")
		}
	}
	return yaml.Marshal(all)
}
