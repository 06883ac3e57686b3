package com.example.parcel;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Where parcels are. */
public class Tracking {
    private final Map<String, List<String>> places = new HashMap<>();

    public void scan(String id, String place) {
        places.computeIfAbsent(id, key -> new ArrayList<>()).add(place);
    }

    public Optional<String> where(String id) {
        List<String> seen = places.get(id);
        return Optional.of(seen.get(seen.size() - 1));
    }

    /** How often a parcel was scanned. */
    public int scans(String id) {
        return places.getOrDefault(id, List.of()).size();
    }

    /** The ids of the parcels that are at a place, in order. */
    public List<String> at(String place) {
        return places.entrySet().stream()
                .filter(entry -> entry.getValue().contains(place))
                .map(Map.Entry::getKey)
                .sorted()
                .toList();
    }
}
