-- Queries q31 to q60 of DP-PQD (Patwa et al. 2023, Table 6), on NYC Yellow Taxi: D is the table.

-- id: q31
SELECT COUNT(*) FROM D WHERE passenger_count = 5 AND rateCodeID = 5 AND payment_type = 1;

-- id: q32
SELECT COUNT(*) FROM D WHERE passenger_count = 1 AND trip_distance = 1 AND tip_amount = 9;

-- id: q33
SELECT COUNT(*) FROM D WHERE trip_distance = 12 AND total_amount = 53 AND congestion_surcharge = 0;

-- id: q34
SELECT COUNT(*) FROM D WHERE trip_distance = 2 AND fare_amount = 18 AND congestion_surcharge = 2;

-- id: q35
SELECT COUNT(*) FROM D WHERE passenger_count = 2 AND trip_distance = 7 AND tip_amount = 5;

-- id: q36
SELECT COUNT(*) FROM D WHERE trip_distance = 17 AND rateCodeID = 1 AND payment_type = 1;

-- id: q37
SELECT COUNT(*) FROM D WHERE trip_distance = 5 AND payment_type = 2 AND fare_amount >= 16;

-- id: q38
SELECT COUNT(*) FROM D WHERE vendorID = 1 AND store_and_fwd_flag LIKE 'Y' AND payment_type = 1;

-- id: q39
SELECT COUNT(*) FROM D WHERE trip_distance >= 4 AND fare_amount >= 22 AND congestion_surcharge = 0;

-- id: q40
SELECT COUNT(*) FROM D WHERE trip_distance <= 4 AND rateCodeID = 1 AND payment_type = 2;

-- id: q41
SELECT SUM(total_amount) FROM D WHERE passenger_count = 1 AND trip_distance = 1 AND tip_amount = 9;

-- id: q42
SELECT SUM(total_amount) FROM D WHERE trip_distance = 12 AND total_amount = 53 AND congestion_surcharge = 0;

-- id: q43
SELECT SUM(total_amount) FROM D WHERE passenger_count = 3 AND rateCodeID = 3 AND payment_type = 2;

-- id: q44
SELECT SUM(total_amount) FROM D WHERE vendorID = 1 AND store_and_fwd_flag LIKE 'Y' AND payment_type = 2;

-- id: q45
SELECT SUM(total_amount) FROM D WHERE passenger_count < 2 AND trip_distance = 8 AND tip_amount <= 2;

-- id: q46
SELECT SUM(total_amount) FROM D WHERE trip_distance <= 2 AND total_amount <= 15 AND congestion_surcharge = 0;

-- id: q47
SELECT SUM(total_amount) FROM D WHERE trip_distance >= 8 AND payment_type = 2 AND fare_amount >= 50;

-- id: q48
SELECT SUM(total_amount) FROM D WHERE trip_distance <= 1 AND rateCodeID = 1 AND payment_type = 2;

-- id: q49
SELECT SUM(total_amount) FROM D WHERE trip_distance >= 8 AND rateCodeID = 2 AND payment_type = 1;

-- id: q50
SELECT SUM(total_amount) FROM D WHERE trip_distance <= 1 AND fare_amount <= 6 AND congestion_surcharge = 2;

-- id: q51
SELECT MEDIAN(trip_distance) FROM D WHERE trip_distance <= 2 AND total_amount <= 15 AND congestion_surcharge = 0;

-- id: q52
SELECT MEDIAN(trip_distance) FROM D WHERE trip_distance <= 1 AND rateCodeID = 1 AND payment_type = 2;

-- id: q53
SELECT MEDIAN(trip_distance) FROM D WHERE trip_distance <= 2 AND rateCodeID = 2 AND payment_type = 1;

-- id: q54
SELECT MEDIAN(trip_distance) FROM D WHERE passenger_count <= 3 AND rateCodeID = 1 AND payment_type = 1;

-- id: q55
SELECT MEDIAN(trip_distance) FROM D WHERE vendorID = 2 AND store_and_fwd_flag LIKE 'N' AND payment_type = 2;

-- id: q56
SELECT MEDIAN(trip_distance) FROM D WHERE trip_distance <= 8 AND fare_amount <= 25 AND congestion_surcharge = 2;

-- id: q57
SELECT MEDIAN(trip_distance) FROM D WHERE trip_distance <= 12 AND total_amount <= 34 AND congestion_surcharge = 0;

-- id: q58
SELECT MEDIAN(trip_distance) FROM D WHERE passenger_count < 2 AND trip_distance = 8 AND tip_amount <= 2;

-- id: q59
SELECT MEDIAN(trip_distance) FROM D WHERE passenger_count >= 2 AND trip_distance >= 8 AND tip_amount = 5;

-- id: q60
SELECT MEDIAN(trip_distance) FROM D WHERE trip_distance >= 2 AND payment_type = 2 AND fare_amount >= 50;
