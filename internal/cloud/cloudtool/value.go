package cloudtool

import "strings"

// At gives the value at a path of keys and indices in decoded JSON, such as scaling_config.0.desired_size; nil if there
// is none. The only index is 0: blocks that a provider allows once are lists of one element.
func At(value any, path string) any {
	for key := range strings.SplitSeq(path, ".") {
		switch v := value.(type) {
		case map[string]any:
			value = v[key]
		case []any:
			if value = nil; key == "0" && len(v) > 0 {
				value = v[0]
			}
		default:
			return nil
		}
	}
	return value
}

// TextAt is At for a text; empty if there is none.
func TextAt(value any, path string) string {
	text, _ := At(value, path).(string)
	return text
}
