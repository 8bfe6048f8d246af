-- What the users of a census copy ask most: the stories of docs/custodian.md and researcher.md.

-- id: women-employed
SELECT COUNT(*) FROM D WHERE sex LIKE 'Female' AND workly LIKE 'Yes';

-- id: seniors
SELECT COUNT(*) FROM D WHERE age > 64;

-- id: degree
SELECT COUNT(*) FROM D WHERE educ LIKE 'Bachelor''s degree';

-- id: women-with-degree
SELECT COUNT(*) FROM D WHERE sex LIKE 'Female' AND educ LIKE 'Bachelor''s degree';

-- id: never-married-young
SELECT COUNT(*) FROM D WHERE marst LIKE 'Never married/single' AND age < 30;

-- id: employed-seniors
SELECT COUNT(*) FROM D WHERE age > 64 AND workly LIKE 'Yes';

-- id: total-income
SELECT SUM(inctot) FROM D;

-- id: income-of-women
SELECT SUM(inctot) FROM D WHERE sex LIKE 'Female';

-- id: mean-income-degree
SELECT AVG(inctot) FROM D WHERE educ LIKE 'Bachelor''s degree';

-- id: median-age
SELECT MEDIAN(age) FROM D;

-- id: median-age-employed
SELECT MEDIAN(age) FROM D WHERE workly LIKE 'Yes';

-- id: high-income
SELECT QUANTILE(inctot, 0.9) FROM D WHERE workly LIKE 'Yes';
