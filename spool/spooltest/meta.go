package spooltest

import (
	"context"
	"fmt"
)

func meta() []testCase {
	set := func(s *store, key, value string) {
		s.t.Helper()
		if err := s.SetMeta(context.Background(), key, []byte(value)); err != nil {
			s.t.Fatal(err)
		}
	}
	require := func(s *store, key, want string) {
		s.t.Helper()
		if v, err := s.Meta(key); string(v) != want || v == nil || err != nil {
			s.t.Errorf("%s is %q, %v; want %q", key, v, err, want)
		}
	}
	remove := func(s *store, key string) {
		s.t.Helper()
		if err := s.SetMeta(context.Background(), key, nil); err != nil {
			s.t.Fatal(err)
		}
	}
	requireListed := func(s *store, prefix string, want ...string) {
		s.t.Helper()
		notes, err := s.ListMeta(prefix)
		if err != nil {
			s.t.Fatal(err)
		}
		var got []string
		for _, n := range notes {
			got = append(got, fmt.Sprintf("%s=%s", n.Key, n.Value))
		}
		requireEqual(s.t, "listed", got, want)
	}
	return []testCase{
		{name: "a key that was never set has no value", run: func(s *store) {
			if v, err := s.Meta("link/nyc"); v != nil || err != nil {
				s.t.Errorf("got %q, %v", v, err)
			}
		}},
		{name: "the latest value counts", run: func(s *store) {
			set(s, "link/nyc", "one")
			set(s, "link/sfo", "other")
			set(s, "link/nyc", "two")
			require(s, "link/nyc", "two")
			require(s, "link/sfo", "other")
		}},
		{name: "an empty value is a value", run: func(s *store) {
			set(s, "k", "")
			require(s, "k", "")
		}},
		{name: "values are copies", run: func(s *store) {
			value := []byte("before")
			if err := s.SetMeta(context.Background(), "k", value); err != nil {
				s.t.Fatal(err)
			}
			clear(value)
			v, _ := s.Meta("k")
			clear(v)
			require(s, "k", "before")
		}},
		{name: "no value removes the key", run: func(s *store) {
			set(s, "k", "one")
			remove(s, "k")
			if v, err := s.Meta("k"); v != nil || err != nil {
				s.t.Errorf("got %q, %v", v, err)
			}
			remove(s, "k")
			set(s, "k", "two")
			require(s, "k", "two")
		}},
		{name: "keys are listed in their order", run: func(s *store) {
			requireListed(s, "")
			for _, key := range []string{"link/sfo", "link/nyc", "links", "route/nyc", "link/", "link"} {
				set(s, key, "of "+key)
			}
			requireListed(s, "link/", "link/=of link/", "link/nyc=of link/nyc", "link/sfo=of link/sfo")
			requireListed(s, "route/nyc", "route/nyc=of route/nyc")
			requireListed(s, "none")
			remove(s, "link/nyc")
			set(s, "link/sfo", "")
			requireListed(s, "link/", "link/=of link/", "link/sfo=")
			if err := s.Remember(context.Background(), "nyc", "orders", 3*day); err != nil {
				s.t.Fatal(err)
			}
			requireListed(s, "", "link=of link", "link/=of link/", "link/sfo=", "links=of links", "route/nyc=of route/nyc")
		}},
		{name: "listed values are copies", run: func(s *store) {
			set(s, "k", "before")
			notes, err := s.ListMeta("k")
			if err != nil || len(notes) != 1 {
				s.t.Fatalf("listed %+v, %v", notes, err)
			}
			clear(notes[0].Value)
			require(s, "k", "before")
		}},
		{name: "what was removed stays removed over a restart", restarts: true, run: func(s *store) {
			set(s, "a", "one")
			set(s, "b", "two")
			remove(s, "a")
			s.restart()
			requireListed(s, "", "b=two")
		}},
		{name: "a value stays over a restart", restarts: true, run: func(s *store) {
			set(s, "link/nyc", "fence")
			s.restart()
			require(s, "link/nyc", "fence")
		}},
	}
}
