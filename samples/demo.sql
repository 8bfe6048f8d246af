-- Three queries for the first minute with pqd (make demo).

-- id: employed-women
SELECT COUNT(*) FROM D WHERE sex LIKE 'Female' AND race LIKE 'White' AND workly LIKE 'Yes';

-- id: income-of-graduates
SELECT SUM(inctot) FROM D WHERE educ LIKE 'Bachelor''s degree';

-- id: age-of-black-employees
SELECT MEDIAN(age) FROM D WHERE sex LIKE 'Male' AND race LIKE 'Black' AND classwkr LIKE 'Wage/salary, private';
