package sessions;

import java.util.List;
import org.springframework.data.geo.Distance;
import org.springframework.data.geo.Point;
import org.springframework.data.repository.CrudRepository;

/** Queries that Spring makes of the names of methods. */
public interface PersonRepository extends CrudRepository<Person, String> {
  List<Person> findByLastname(String lastname);

  List<Person> findByFirstnameAndLastname(String firstname, String lastname);

  List<Person> findByPlaceNear(Point point, Distance distance);
}
