module example.com/timetable

go 1.19
