package config_test

import (
	"maps"
	"testing"
)

func TestPartsHaveLevelsOfTheirOwn(t *testing.T) {
	c := good(t, `agent: a
log: { level: warn, levels: { link: debug, spool: error } }`)
	if want := map[string]string{"link": "debug", "spool": "error"}; c.Log.Level != "warn" || !maps.Equal(c.Log.Levels, want) {
		t.Errorf("got %+v", c.Log)
	}
}

func TestMistakesInTheLogBlockAreTold(t *testing.T) {
	requireProblems(t, []badFile{
		{"part and level mistyped", `agent: a
log: { levels: { lnik: debug, spool: wran } }`, []string{
			`2:18 log.levels.lnik: unknown key, allowed here: agent, api, link, monitor, spool -> link`,
			`2:38 log.levels.spool: "wran" is not allowed, want one of: trace, debug, info, warn, error -> warn`,
		}},
		{"one level for all", `agent: a
log: { levels: debug }`, []string{
			"2:16 log.levels: want a mapping such as `link: debug`, got a single value",
		}},
	})
}
