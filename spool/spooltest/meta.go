package spooltest

import "context"

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
		{name: "a value stays over a restart", restarts: true, run: func(s *store) {
			set(s, "link/nyc", "fence")
			s.restart()
			require(s, "link/nyc", "fence")
		}},
	}
}
