-- Counts and sums that no copy answers well enough: `pqd release samples/office.toml`.

-- id: households
SELECT COUNT(*) FROM D GROUP BY relate;

-- id: employed-seniors
SELECT COUNT(*) FROM D WHERE age > 64 AND workly LIKE 'Yes';

-- id: income-of-women
SELECT SUM(inctot) FROM D WHERE sex LIKE 'Female';

-- id: income-of-men
SELECT SUM(inctot) FROM D WHERE sex LIKE 'Male';
