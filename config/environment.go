package config

import (
	"fmt"
	"regexp"
	"strings"
)

var (
	variable     = regexp.MustCompile(`^\$\{([A-Za-z_][A-Za-z0-9_]*)(:-([^}]*))?\}`)
	bareVariable = regexp.MustCompile(`^\$([A-Za-z_][A-Za-z0-9_]*)`)
)

// expand replaces ${VAR} and ${VAR:-default} in the text of one value, and $$ by a dollar. As in a shell, the default also
// stands for a variable that is set to nothing. The result is never read as YAML, so a value cannot add keys.
func expand(text string, env func(string) (string, bool)) (string, error) {
	var b strings.Builder
	for {
		dollar := strings.IndexByte(text, '$')
		if dollar < 0 {
			b.WriteString(text)
			return b.String(), nil
		}
		b.WriteString(text[:dollar])
		text = text[dollar:]
		if strings.HasPrefix(text, "$$") {
			b.WriteByte('$')
			text = text[2:]
			continue
		}
		m := variable.FindStringSubmatch(text)
		if m == nil {
			return "", strayDollar(text)
		}
		name, hasDefault, fallback := m[1], m[2] != "", m[3]
		if strings.Contains(fallback, "${") {
			return "", fmt.Errorf("the default of ${%s} holds another variable, which is not supported", name)
		}
		value, set := env(name)
		switch {
		case hasDefault && value == "":
			value = fallback
		case !set:
			return "", fmt.Errorf("the environment variable %s is not set; ${%s:-VALUE} gives a default", name, name)
		}
		b.WriteString(value)
		text = text[len(m[0]):]
	}
}

func strayDollar(text string) error {
	if m := bareVariable.FindStringSubmatch(text); m != nil {
		return fmt.Errorf("write ${%s} for the environment variable, or $$ for a dollar", m[1])
	}
	return fmt.Errorf("%q: a dollar begins ${VARIABLE}; write $$ for a dollar", clip(text))
}
