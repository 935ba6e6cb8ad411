package provision

import "strings"

// addressParts splits the address of a resource at its dots: module.m["a.b"].aws_instance.x[0] has the parts module,
// m["a.b"], aws_instance and x[0]. Keys can have any character, and a quotation mark in them is escaped.
func addressParts(address string) (parts []string) {
	from, quoted := 0, false
	for i := 0; i < len(address); i++ {
		switch address[i] {
		case '\\':
			i++ // the next character is a part of the key
		case '"':
			quoted = !quoted
		case '.':
			if !quoted {
				parts, from = append(parts, address[from:i]), i+1
			}
		}
	}
	return append(parts, address[from:])
}

// withoutModules are the parts of an address that follow its modules.
func withoutModules(address string) []string {
	parts := addressParts(address)
	for len(parts) > 2 && parts[0] == "module" {
		parts = parts[2:]
	}
	return parts
}

// resourceType is the type of a resource by its address; empty for a data source.
func resourceType(address string) string {
	parts := withoutModules(address)
	if len(parts) != 2 || parts[0] == "data" {
		return ""
	}
	return parts[0]
}

// names says whether an entry of experiment.Provision.Replace names the resource with an address: the entry is its
// type, its address, or the address of something that it is a part of, such as a module, or all instances of a
// resource.
func names(entry, address string) bool {
	if len(addressParts(entry)) == 1 && entry == resourceType(address) {
		return true
	}
	rest, found := strings.CutPrefix(address, entry)
	return found && (rest == "" || rest[0] == '.' || rest[0] == '[')
}
